"""Questions on behalf of people, and their answers as every API shows them."""
