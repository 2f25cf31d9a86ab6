# The service, and the command `injector`. What installs it is not in the image.
FROM python:3.13-slim AS build
WORKDIR /build
COPY requirements/bootstrap.txt requirements/service.txt requirements/
RUN python -m venv tools \
    && tools/bin/pip install --no-cache-dir --require-hashes -r requirements/bootstrap.txt \
    && python -m venv --without-pip /venv \
    && tools/bin/pip --python /venv/bin/python install --no-cache-dir --require-hashes -r requirements/service.txt
COPY pyproject.toml README.md LICENSE ./
COPY handlers handlers
COPY injector injector
RUN tools/bin/python -m hatchling build -t wheel \
    && tools/bin/pip --python /venv/bin/python install --no-cache-dir --no-deps dist/*.whl

FROM python:3.13-slim
ENV INJECTOR_HOST=0.0.0.0 \
    PATH=/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
WORKDIR /srv
COPY --from=build /venv /venv
USER 10001:10001
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ.get(\"PORT\", 8080)}/healthz', timeout=4)"]
CMD ["gunicorn", "--config", "python:handlers.gunicorn_config"]
