"""Do an experiment in this process."""


def do(experiment, options):
    """All records, in the order of the plan."""
    done, records = set(), []
    while new := [t for t in experiment.plan(options, records) if t.name not in done]:
        done |= {task.name for task in new}
        records += [record for task in new for record in experiment.work(task.arguments)]
    return records
