"""A stand-in for AWS KMS on a loopback address: real HTTP, GenerateDataKey and Decrypt, and KMS's refusals."""

import base64
import json
import secrets
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from botocore.config import Config
from botocore.session import Session
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

ID_SIZE = 8


class Refusal(Exception):
    def __init__(self, code, message=""):
        super().__init__(code)
        self.code = code
        self.message = message


class Kms:
    """Master keys by id, what was asked of them, and a refusal that can be switched on."""

    def __init__(self, *key_ids):
        self.keys = {key_id: (secrets.token_bytes(ID_SIZE), AESGCM(secrets.token_bytes(32))) for key_id in key_ids}
        self.calls = []
        self.contexts = []
        self.refusal = None

    def response(self, operation, request):
        self.calls.append(operation)
        self.contexts.append(request.get("EncryptionContext"))
        if self.refusal:
            raise Refusal(self.refusal, "no")
        return {"GenerateDataKey": self.generate_data_key, "Decrypt": self.decrypt}[operation](request)

    def generate_data_key(self, request):
        mark, master = self.find(request["KeyId"])
        assert request["KeySpec"] == "AES_256"
        plain, nonce = secrets.token_bytes(32), secrets.token_bytes(12)
        wrapped = mark + nonce + master.encrypt(nonce, plain, mark + bind(request))
        return {"KeyId": request["KeyId"], "Plaintext": encode(plain), "CiphertextBlob": encode(wrapped)}

    def decrypt(self, request):
        blob = base64.b64decode(request["CiphertextBlob"])
        mark, master = self.find(request["KeyId"])
        if blob[:ID_SIZE] in {other for other, _master in self.keys.values()} - {mark}:
            raise Refusal("IncorrectKeyException", "The key ID in the request does not identify a CMK.")
        try:
            plain = master.decrypt(blob[ID_SIZE:][:12], blob[ID_SIZE + 12 :], blob[:ID_SIZE] + bind(request))
        except (InvalidTag, ValueError):  # ValueError: a nonce that is too short
            raise Refusal("InvalidCiphertextException") from None
        return {"KeyId": request["KeyId"], "Plaintext": encode(plain)}

    def find(self, key_id):
        if key_id not in self.keys:
            raise Refusal("NotFoundException", f"Key '{key_id}' does not exist")
        return self.keys[key_id]


def bind(request):
    return json.dumps(request.get("EncryptionContext", {}), sort_keys=True).encode()


def encode(data):
    return base64.b64encode(data).decode()


def make_handler(kms):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: two would wait for each other

        def do_POST(self):
            service, _, operation = self.headers["X-Amz-Target"].partition(".")
            assert service == "TrentService"
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                self.reply(200, kms.response(operation, request))
            except Refusal as refusal:
                self.reply(400, {"__type": refusal.code, "message": refusal.message})

        def reply(self, status, response):
            body = json.dumps(response).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments):
            pass

    return Handler


@contextmanager
def serve(kms):
    """The address at which that KMS answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), make_handler(kms))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def connect(url, **config):
    """A real client of botocore's that speaks to the stand-in."""
    session = Session()
    session.set_credentials("test", "test")
    return session.create_client("kms", region_name="eu-west-2", endpoint_url=url, config=Config(**config))
