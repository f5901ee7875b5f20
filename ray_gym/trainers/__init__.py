"""Holds the bridges to trainers. Nothing here is imported unless it is asked for, since each part needs a trainer's packages."""
