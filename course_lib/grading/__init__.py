"""How a class is graded: a folder of submissions goes in, a record of each, a gradebook and pages of feedback come out.

    submissions ▶ tasks ▶ runners (here, or another machine's) ▶ records in the results folder ▶ gradebook · feedback · mistakes

A `Task` is plain data and holds all that judging needs; `tasks.grade` turns it into a record, plain data again
(`course_lib/data/grade.schema.json`). Which machine does that is the runner's concern and nobody else's. Only `command.py`
prints.
"""
