"""Mails, calendars and contacts."""
