import dagster as dg
import fan_out
from nightly import nightly

defs = dg.Definitions(assets=dg.load_assets_from_modules([fan_out]), schedules=[nightly])
