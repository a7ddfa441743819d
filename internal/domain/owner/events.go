package owner

import (
	"context"
	"encoding/json"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
)

// Login is the type of a completed sign-in.
const Login = "owner.login"

// Types are the events of this domain.
func Types() []events.Type {
	return []events.Type{{
		Name:        Login,
		Title:       "Owner signed in",
		Description: "Somebody signed in to the panel as the owner. Tell it to a chat and you will notice a sign-in that was not yours.",
		Subject:     "owner:// and the owner's id",
		Example:     json.RawMessage(`{"method":"password"}`),
		Exposure:    events.Webhook,
	}}
}

type loginData struct {
	Method string `json:"method"` // password, setup_link
}

// recordLogin records owner.login. Neither the mail address nor the visitor's
// network address is part of it.
func recordLogin(ctx context.Context, rec events.Recorder, ownerID, method string) error {
	_, err := rec.Record(ctx, ownerID, Login, "owner://"+ownerID, loginData{Method: method})
	return err
}
