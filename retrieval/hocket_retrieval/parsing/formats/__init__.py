"""What files of each kind say, from their bytes alone; knows neither files nor stores."""
