"""The demo's target: what the owner of the airports writes to take tasks.

A task may come more than once (Cloud Tasks promises at least once), so a real target makes
its work harmless to repeat. Any 2xx says that it is done; anything else sends it again.
"""

from flask import Flask, Response, jsonify, request

from injector.local.target import Tally

app = Flask(__name__)
tally = Tally()


@app.post("/airports/<icao>")
def welcome(icao: str) -> Response:
    """Take one airport's task."""
    airport = request.get_json()
    if airport["icao"] != icao:
        return Response("the path and the body name different airports", status=400)
    tally.add(icao)
    return Response(status=204)


@app.get("/tally")
def counts() -> Response:
    """Tell how many airports came, and which came twice."""
    return jsonify(tally.summary())


@app.get("/deliveries")
def deliveries() -> Response:
    """Tell how often each airport came."""
    return jsonify(tally.deliveries())
