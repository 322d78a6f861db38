"""A crawler of antique shops: their products, prices with history, and alerts."""
