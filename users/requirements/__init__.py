"""What compliance asks of a partner."""
