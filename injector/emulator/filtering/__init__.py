"""The filter language of Google's list methods: of queues, log entries and time series."""
