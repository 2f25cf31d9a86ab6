"""The queues that an emulator starts with."""

from math import inf

from injector.emulator.api import messages, paths, queue_form
from injector.emulator.api.service import Service
from injector.emulator.declared import declared, read_into
from injector.emulator.options import Options
from injector.emulator.rpc import RpcError
from injector.emulator.state.queue import QueueState
from injector.errors import Misused


def open_queues(service: Service, options: Options) -> None:
    """Make the queues of the options that are not there yet; raises Misused with the place.

    One may start paused, though nobody may make it so by CreateQueue.
    """
    for source, settings in declared(options.queues, options.queues_file, "queues"):
        config = messages.Queue()
        read_into(settings, config, source)
        if config.name in service.registry.queues:
            continue
        is_paused = config.state == QueueState.PAUSED.value
        try:
            where = paths.location(paths.location_of_queue(config.name))
            limits = queue_form.complete(config, where)
        except RpcError as error:
            raise Misused(f"{source}: {error.message}") from error
        service.configs[config.name] = config
        queue = service.registry.open(config.name, limits, now=service.now())
        queue.opened_at = -inf
        if is_paused:
            service.registry.pause(queue)
