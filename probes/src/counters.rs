//! What is read at every sample.
