"""Wrong answers to questions of public sets, labelled by hand, and whether the diagnosis agrees."""
