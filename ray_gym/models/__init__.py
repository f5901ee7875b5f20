"""Language models as the engine sees them: a `Model` completes; an `Engine` is how a named model comes up."""
