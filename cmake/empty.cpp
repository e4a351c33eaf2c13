// A source file for the target that compiles the standard headers.
