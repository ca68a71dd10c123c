//! What differs between two checkpoints, beyond what git knows, and within bounds.
