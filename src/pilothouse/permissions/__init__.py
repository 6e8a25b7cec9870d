"""Authority: decides whether a call may be executed, and proves it. It never executes anything."""
