from datetime import date

import application
from fan_out import report

print(report(date(2026, 11, 20)).delay().get())
