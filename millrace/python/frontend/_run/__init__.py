"""Running graphs: sessions, servers, and what they are told."""
