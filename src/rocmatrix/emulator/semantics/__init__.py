"""What each instruction means, written once: over the algebra and the ``Machine`` protocol, for every executor."""
