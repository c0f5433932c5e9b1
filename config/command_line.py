"""Django's command line, whose help lists the service's commands before those of Django and of packages."""

from collections import defaultdict

from django.core.management import ManagementUtility, get_commands
from django.core.management.color import color_style

# What the commands of each app are about.
TOPICS = {
    "partners": "partners, API keys, webhooks, the database",
    "users": "users, decisions, staff",
    "transactions": "conversions, documents, the demo",
    "backoffice": "the audit log",
}


class CommandLine(ManagementUtility):
    """Django's, with another list of commands."""

    def main_help_text(self, commands_only: bool = False) -> str:  # noqa: FBT001, FBT002 - Django's signature
        """The list of commands; as Django's where only names are wanted, and if the settings cannot be read."""
        if commands_only or self.settings_exception is not None:
            return super().main_help_text(commands_only)
        commands = defaultdict(list)
        for name, app in sorted(get_commands().items()):
            commands[app.removeprefix("django.").rpartition(".")[-1]].append(name)
        notice = color_style().NOTICE
        lines = [
            "",
            f"Type '{self.prog_name} help COMMAND' for help on a command. docs/operations.md has the service's.",
        ]
        for app, topic in TOPICS.items():
            lines += ["", notice(f"[{app}] {topic}"), *(f"    {name}" for name in commands.pop(app))]
        lines += ["", "Commands of Django and of packages:"]
        for app, names in sorted(commands.items()):
            lines += ["", notice(f"[{app}]"), *(f"    {name}" for name in names)]
        return "\n".join(lines)
