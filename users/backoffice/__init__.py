"""The pages that compliance staff work on: queue, case, decision, dashboard, exports."""
