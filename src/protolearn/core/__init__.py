"""The vocabulary of all rooms: prototypes, registries, checks of parameters, schedules, compiled functions, threads."""
