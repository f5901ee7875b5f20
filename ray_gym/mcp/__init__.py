"""Speaks the Model Context Protocol both ways: offers tools to its clients, and takes tools from its servers."""
