"""When something is due. The only room that knows APScheduler; pure: it is told what time it is.

For now the groomer's ticks are all there is to schedule; users' cron and interval entries belong here too.
"""
