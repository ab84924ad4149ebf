"""The console behind its C boundary, and the cartridge that goes into it."""
