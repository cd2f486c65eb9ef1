"""Time steps as lists of stages, which one runtime executes on one device, several devices or several processes."""
