"""The whole journey: from the user's model to the same model, smaller."""
