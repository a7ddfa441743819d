package owner

import (
	"context"
	"encoding/json"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// The types of this domain's events.
const (
	Login           = "owner.login"
	TokenIssued     = "api_key.issued"
	TokenRevocation = "api_key.revoked"
)

// Types are the events of this domain.
func Types() []events.Type {
	return []events.Type{{
		Name:        Login,
		Title:       "Owner signed in",
		Description: "Somebody signed in to the panel as the owner. Tell it to a chat and you will notice a sign-in that was not yours.",
		Subject:     "owner:// and the owner's id",
		Example:     json.RawMessage(`{"method":"password"}`),
		Exposure:    events.Webhook,
	}, {
		Name:        TokenIssued,
		Title:       "Token issued",
		Description: "A bearer token was issued for a program that acts for the owner. Its secret and its name are not part of the event.",
		Subject:     "token:// and the token's id",
		Example:     json.RawMessage(`{"classes":["read","write"]}`),
		Exposure:    events.Webhook,
	}, {
		Name:        TokenRevocation,
		Title:       "Token revoked",
		Description: "A bearer token was revoked and opens nothing any more.",
		Subject:     "token:// and the token's id",
		Example:     json.RawMessage(`{"classes":["read","write"]}`),
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

type tokenData struct {
	Classes []op.Class `json:"classes"`
}

// recordIssued records api_key.issued.
func recordIssued(ctx context.Context, rec events.Recorder, ownerID string, t Token) error {
	_, err := rec.Record(ctx, ownerID, TokenIssued, "token://"+t.ID, tokenData{Classes: t.Classes})
	return err
}

// recordRevoked records api_key.revoked.
func recordRevoked(ctx context.Context, rec events.Recorder, ownerID string, t Token) error {
	_, err := rec.Record(ctx, ownerID, TokenRevocation, "token://"+t.ID, tokenData{Classes: t.Classes})
	return err
}
