# docker build -t mario-a3c .
# docker run --gpus all -v mario-runs:/runs mario-a3c      trains, and keeps its runs in the volume mario-runs
# docker run --gpus all mario-a3c doctor                   any other command
#
# The pinned torch is built for CUDA 13.0 and brings its own libraries; the base adds what the driver needs.
FROM nvidia/cuda:13.0.0-base-ubuntu24.04

SHELL ["/bin/bash", "-o", "pipefail", "-c"]

# The compiler stays in the image: parts of the console are compiled for the user's cartridge at first use.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends cmake ffmpeg g++ make python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/mario-a3c
RUN python3 -m venv /opt/venv
ENV PATH="/opt/venv/bin:$PATH"

COPY pyproject.toml requirements.txt README.md LICENSE ./
COPY native native
COPY src src
RUN pip install --no-cache-dir -r requirements.txt
COPY train.py test.py ./
COPY scripts scripts
COPY pretrained pretrained

# A user of its own, with a cache folder it may write to and a folder for runs.
RUN useradd --create-home --uid 10001 mario \
    && install -d -o mario -g mario /runs /home/mario/.cache
USER 10001
WORKDIR /runs
VOLUME ["/runs", "/home/mario/.cache"]

ENTRYPOINT ["mario"]
CMD ["train"]
