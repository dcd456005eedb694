"""Tables of facts about torch, and the engines that read them."""
