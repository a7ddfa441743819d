package webhooks

import "github.com/gatehouse-hq/gatehouse/internal/infra/egress"

// Snippet shows receivers how to check a signature.
type Snippet struct{ Language, Title, Code string }

// Snippets use the official libraries, and in Python, whose library brings others along, none. Each reads the secret from
// the environment.
func Snippets() []Snippet {
	return []Snippet{{
		Language: "go", Title: "Go", Code: `import standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	hook, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		http.Error(w, "not set up", http.StatusInternalServerError)
		return
	}
	if err := hook.Verify(body, r.Header); err != nil {
		http.Error(w, "wrong signature", http.StatusUnauthorized)
		return
	}
	// The same webhook-id may come more than once: do its work once.
	w.WriteHeader(http.StatusNoContent)
}`,
	}, {
		Language: "javascript", Title: "Node", Code: `import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const hook = new Webhook(process.env.WEBHOOK_SECRET);

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    // Verify the bytes as they came, before anything parses them.
    const event = hook.verify(Buffer.concat(chunks).toString("utf8"), request.headers);
    console.log(event.type, event.id);
    response.writeHead(204).end();
  } catch {
    response.writeHead(401).end();
  }
}).listen(3000);`,
	}, {
		Language: "python", Title: "Python", Code: `import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))

def genuine(headers, body):
    sent = headers.get("webhook-timestamp", "")
    if not sent.isdecimal() or abs(time.time() - int(sent)) > 300:
        return False  # old: somebody may be repeating what they overheard
    signed = f"{headers.get('webhook-id', '')}.{sent}.".encode() + body
    wanted = b"v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest())
    # There are two while the secret is being rotated.
    return any(hmac.compare_digest(wanted, one.encode()) for one in headers.get("webhook-signature", "").split(" "))

class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if genuine(self.headers, body):
            event = json.loads(body)
            # The same webhook-id may come more than once: do its work once.
            print(event["type"], event["id"], flush=True)
            self.send_response(204)
        else:
            self.send_response(401)
        self.end_headers()

HTTPServer(("", 3000), Hook).serve_forever()`,
	}}
}

// AllowedAddresses are the entries of GATEHOUSE_EGRESS_ALLOW, and whether they open this machine itself or the credential
// service of a cloud machine.
func (d *Domain) AllowedAddresses() (entries []string, loopback, metadata bool) {
	list := d.Addresses.Allow()
	return orEmpty(list.Entries()), list.Opens(egress.Loopback), list.Opens(egress.Metadata)
}
