"""The studio: a page of this computer on which recordings are taken apart and put together."""
