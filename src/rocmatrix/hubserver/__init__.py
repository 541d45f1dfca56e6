"""SERVICE: a Hub for rehearsals, tests and air-gapped teams, that the unmodified clients work with.

Not the Hugging Face Hub: ``docs/hub.md`` says what it leaves out. Endpoints and fields are those that huggingface_hub
2.4.0, kernels 0.17.2, git 2.39 and git-lfs 3.3 were seen to use.
"""
