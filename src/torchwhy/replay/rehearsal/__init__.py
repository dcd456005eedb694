"""The rehearsal of `torchwhy check`: captures training steps while the program runs, then puts questions to copies.

A question is a file in `questions/`; files are found, there is no list:

    SLUG = "labels-matter"                        # names the answer in the record: `Experiment.question`

    def ask(steps: CapturedSteps) -> Answer:      # raises CannotAsk(reason) where it has no answer
        group = steps.main                        # a `StepGroup`: steps of one loss, oldest first
        first = group.steps[0]                    # a `CapturedStep`
        copies = steps.initial_weights(group)     # {number of a parameter: copy}; change them as you like
        value = first.loss_with(copies)           # the loss as a number, deterministic
        value = first.loss_with(copies, slots={3: other})              # with another tensor in slot 3
        loss, seen = first.run(copies, slots={3: other}, keep=(7, 9))  # tensors, with a graph if copies require it
        return Answer({"with": 2.3, "without": 0.1}, places={"loss": first.place})

A `CapturedStep` has `operations` (each with `function`, `args` and `kwargs` that hold `Ref`s, `results`, `shapes`,
`span`), `slots` (copies of what feeds them and depends on no parameter: batch, targets, masks, noise; each with a
`role` and the `span` where it enters), `loss`, the recorded value, and `outputs`, the numbers of the computed values
that meet a target. Roles: `input`, `target` (no parameter is met on the way from it to the loss), `constant` (the same
in all steps), `buffer` (memory that the step writes, such as running statistics).

`copy_training.Trainee` trains copies. Call `steps.allowance.spend(len(step.operations))` for every run of your own: it
raises CannotAsk when the time for questions is used up. Nothing here is judged: an answer holds what was measured and
its control, and `detect/checks/questions/` judges. The hooks are off, and the program stands still.
"""
