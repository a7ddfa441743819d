package webhooks

import "github.com/gatehouse-hq/gatehouse/internal/infra/egress"

// Snippet shows receivers how to check a signature.
type Snippet struct{ Language, Title, Code string }

// Snippets use the official libraries; each reads the secret from the environment.
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
		Language: "python", Title: "Python", Code: `import os
from flask import Flask, request
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

app = Flask(__name__)
hook = Webhook(os.environ["WEBHOOK_SECRET"])

@app.post("/hook")
def receive():
    try:
        event = hook.verify(request.get_data(as_text=True), request.headers)
    except WebhookVerificationError:
        return "", 401
    # The same webhook-id may come more than once: do its work once.
    print(event["type"], event["id"])
    return "", 204`,
	}}
}

// AllowedAddresses are the entries of GATEHOUSE_EGRESS_ALLOW, and whether they open this machine itself or the credential
// service of a cloud machine.
func (d *Domain) AllowedAddresses() (entries []string, loopback, metadata bool) {
	list := d.Addresses.Allow()
	return orEmpty(list.Entries()), list.Opens(egress.Loopback), list.Opens(egress.Metadata)
}
