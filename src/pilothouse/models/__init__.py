"""Models: one small adapter per wire format, the scripted model and the embedded one."""
