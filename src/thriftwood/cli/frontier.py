"""`thriftwood frontier`: every optimal pruning of a model, in a folder to look at."""

from __future__ import annotations

from thriftwood.cli import options
from thriftwood.cli.early import check_request
from thriftwood.cli.failures import ends_in_words
from thriftwood.cli.frontier_files import FOLDER, REPORT, write_files
from thriftwood.cli.frontier_words import MARK, frontier_facts, frontier_lines
from thriftwood.cli.inputs import read_inputs
from thriftwood.cli.outputs import check_apart, check_new_folder, new_folder
from thriftwood.cli.request import Request
from thriftwood.cli.suggestion import find_frontier
from thriftwood.cli.voice import Voice


def frontier(
    model: options.Model,
    data: options.Data,
    output: options.OutputFolder,
    target: options.Target = None,
    costs: options.Costs = None,
    validation: options.Validation = None,
    weight: options.Weight = None,
    loss: options.Loss = None,
    class_weight: options.ClassWeight = None,
    jobs: options.Jobs = None,
    trust_pickle: options.TrustPickle = False,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Compute all optimal prunings, and write a report.

    \b
    The folder gets
      report.html                          a page to choose a point on, for any browser
      path.csv, path.parquet, path.npz     all points: as tables, and to load in Python
      frontier.png, bill.png, tree.png     pictures

    \b
    Examples:
      thriftwood frontier model.skops train.csv --target ill --costs prices.csv -o frontier
      thriftwood frontier model.skops train.csv --target ill --costs prices.csv \\
          --validation valid.csv -o frontier
    """
    voice = Voice(json, quiet)
    with ends_in_words(debug, voice):
        check_apart(output, model, data, validation, costs)
        check_new_folder(output, FOLDER, force)
        request = Request(
            model=model,
            data=data,
            target=target,
            costs=costs,
            weight=weight,
            validation=validation,
            loss=loss,
            class_weight=class_weight or (),
            jobs=jobs,
            trust_pickle=trust_pickle,
        )
        check_request(request)
        inputs = read_inputs(request, voice)
        found = find_frontier(inputs, voice)
        with new_folder(output, FOLDER, force) as unfinished:
            write_files(unfinished, found, inputs, request, voice)
        for line in frontier_lines(found):
            voice.say(line, strong=line.endswith(MARK))
        voice.say()
        voice.say(f"Wrote {output}. To choose a point, open {output / REPORT}.")
        voice.answer(frontier_facts(found) | {"output": str(output)})
