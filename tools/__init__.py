"""Authors' programs: what builds, checks and renders the course. Learners never need them."""
