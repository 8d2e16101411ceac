"""What this machine can and cannot do, and the cure for each problem.

    facts.py         looks at the machine (with gpu.py), and returns a frozen value
    trial.py         tries what is promised, in processes of its own
    examinations.py  pure: facts → a problem, one function for each
    diagnosis.py     pure: facts → all problems, and the table of abilities
    model.py         a problem and an ability, as values

Not here: printing (`course_lib.__main__`).
"""
