"""The stage ``wheel``: installable wheels of collected variants, for users who do not load from a Hub."""
