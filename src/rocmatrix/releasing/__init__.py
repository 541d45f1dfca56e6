"""From collected variants to a Hub and its users: what the verbs ``release``, ``rehearse`` and ``why`` do, in order."""
