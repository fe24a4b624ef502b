"""Times and days in English: the forms of `accounts.relative_time`, for what Django shows and reads itself."""

DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "Y-m-d H:i"
DATE_FORMAT = SHORT_DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i"
MONTH_DAY_FORMAT = "m-d"
YEAR_MONTH_FORMAT = "Y-m"
DATE_INPUT_FORMATS = ["%Y-%m-%d", "%Y/%m/%d"]
DATETIME_INPUT_FORMATS = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y/%m/%d %H:%M"]
