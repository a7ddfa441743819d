package owner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// tokenPrefix lets a person, and a scanner of leaked secrets, see what a token is for.
const tokenPrefix = "gatehouse_"

// Bounds of what is issued.
const (
	maxTokens    = 100 // usable at once
	maxTokenDays = 3650
)

// Token is a bearer token of the owner's AI or script, without its secret.
type Token struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Classes   []op.Class `json:"classes"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty" jsonschema:"absent: it does not expire"`
	UsedAt    *time.Time `json:"used_at,omitempty" jsonschema:"last use, to the minute"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
	State     TokenState `json:"state" jsonschema:"active, expired or revoked"`
}

// TokenState says whether a token opens anything.
type TokenState string

// What a token can be.
const (
	TokenActive  TokenState = "active"
	TokenExpired TokenState = "expired"
	TokenRevoked TokenState = "revoked"
)

// IssueTokenIn says what a new token is for.
type IssueTokenIn struct {
	Name    string     `json:"name" jsonschema:"who or what will use it"`
	Classes []op.Class `json:"classes" jsonschema:"what it may do: read, write, destructive, credential, egress"`
	Days    int        `json:"days,omitempty" jsonschema:"days until it expires, at most 3650; left out: it does not expire"`
}

// IssueTokenOut holds the secret, this once.
type IssueTokenOut struct {
	Token  Token  `json:"token"`
	Secret string `json:"secret" jsonschema:"what goes into the Authorization header; it is not stored and never shown again"`
}

// Check says what is wrong with each field, for a form that shows it all at
// once. IssueToken checks by itself.
func (in IssueTokenIn) Check(ctx context.Context) error {
	in.Classes = slices.Clone(in.Classes)
	caller, byToken := op.CallerFrom(ctx)
	return in.check(caller, byToken)
}

func (in *IssueTokenIn) check(caller op.Caller, byToken bool) error {
	var errs [3]error
	in.Name, errs[0] = checkLine("name", in.Name, maxName)
	if in.Name == "" && errs[0] == nil {
		errs[0] = op.Invalidf("name", "Say who or what will use it.")
	}
	slices.Sort(in.Classes)
	in.Classes = slices.Compact(in.Classes)
	if len(in.Classes) == 0 {
		errs[1] = op.Invalidf("classes", "Choose at least one.")
	}
	for _, c := range in.Classes {
		switch {
		case !slices.Contains(op.Classes(), c):
			errs[1] = op.Invalidf("classes", "%q is not one of read, write, destructive, credential and egress.", c)
		case byToken && !caller.Allows(c):
			// Otherwise one class would be all of them.
			errs[1] = op.Invalidf("classes", "A token cannot give what it may not do itself: %s.", c)
		}
	}
	if in.Days < 0 || in.Days > maxTokenDays {
		errs[2] = op.Invalidf("days", "A whole number from 0 (never expires) to %d is needed.", maxTokenDays)
	}
	return errors.Join(errs[:]...)
}

// IssueToken makes a token. Only its hash is stored. One that is issued by
// means of a token can do no more than that one.
func (d *Domain) IssueToken(ctx context.Context, in IssueTokenIn) (IssueTokenOut, error) {
	in.Classes = slices.Clone(in.Classes)
	caller, byToken := op.CallerFrom(ctx)
	if err := in.check(caller, byToken); err != nil {
		return IssueTokenOut{}, err
	}
	secret, _ := newToken()
	out := IssueTokenOut{Secret: tokenPrefix + secret}
	err := pg.InTx(ctx, d.db, func(tx pg.Tx) error {
		s := d.store().with(tx)
		o, _, err := s.owner(ctx)
		if err != nil {
			return err
		}
		n, err := s.usableTokens(ctx)
		if err != nil {
			return err
		}
		if n >= maxTokens {
			return op.Invalidf("", "There are %d usable tokens already. Revoke one that is no longer needed.", maxTokens)
		}
		if out.Token, err = s.insertToken(ctx, o.ID, in, hashToken(out.Secret)); err != nil {
			return err
		}
		return recordIssued(ctx, d.rec.With(tx), o.ID, out.Token)
	})
	if err != nil {
		return IssueTokenOut{}, err
	}
	return out, nil
}

// TokensIn asks for a page of tokens.
type TokensIn struct {
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the page before"`
	Limit  int    `json:"limit,omitempty" jsonschema:"1 to 100, default 50"`
}

// TokensOut is a page of tokens.
type TokensOut struct {
	Tokens []Token `json:"tokens"`
	Next   string  `json:"next,omitempty" jsonschema:"cursor of the next page; absent on the last one"`
}

// Tokens pages through all tokens, usable ones first, then the newest.
func (d *Domain) Tokens(ctx context.Context, in TokensIn) (TokensOut, error) {
	in.Limit = cmp.Or(in.Limit, 50)
	if in.Limit < 1 || in.Limit > 100 {
		return TokensOut{}, op.Invalidf("limit", "Choose 1 to 100.")
	}
	list, err := d.store().tokens(ctx)
	if err != nil {
		return TokensOut{}, err
	}
	if in.Cursor != "" {
		// After the token that the page before ended with: it may have moved down meanwhile, never away within 90 days.
		last := slices.IndexFunc(list, func(t Token) bool { return t.ID == in.Cursor })
		if last < 0 {
			return TokensOut{}, op.Invalidf("cursor", "This is no cursor of this list. Start again without it.")
		}
		list = list[last+1:]
	}
	out := TokensOut{Tokens: list}
	if len(list) > in.Limit {
		out.Tokens, out.Next = list[:in.Limit], list[in.Limit-1].ID
	}
	return out, nil
}

// AllTokens lists all tokens, in the same order.
func (d *Domain) AllTokens(ctx context.Context) ([]Token, error) { return d.store().tokens(ctx) }

// RevokeTokenIn names a token.
type RevokeTokenIn struct {
	ID string `json:"id" jsonschema:"the token's id, as tokens.list shows it"`
}

// RevokeToken makes a token useless from the next call on. One that is revoked
// already is a NotFound error.
func (d *Domain) RevokeToken(ctx context.Context, in RevokeTokenIn) (Token, error) {
	gone := op.Errorf(op.NotFound, "There is no such token, or it is revoked already.")
	if !pg.ValidUUID(in.ID) {
		return Token{}, gone
	}
	var t Token
	err := pg.InTx(ctx, d.db, func(tx pg.Tx) error {
		s := d.store().with(tx)
		o, _, err := s.owner(ctx)
		if err != nil {
			return err
		}
		t, err = s.revokeToken(ctx, in.ID)
		if pg.NoRows(err) {
			return gone
		}
		if err != nil {
			return fmt.Errorf("revoke token: %w", err)
		}
		return recordRevoked(ctx, d.rec.With(tx), o.ID, t)
	})
	return t, err
}

// Authenticate returns the usable token behind a secret, or an Unauthorized
// error that says why not. It is asked on every call, so that revocation bites
// on the next one; the time of use is written at most once a minute.
func (d *Domain) Authenticate(ctx context.Context, secret string) (Token, error) {
	if !strings.HasPrefix(secret, tokenPrefix) || len(secret) > 200 {
		return Token{}, errNoToken
	}
	t, err := d.store().tokenByHash(ctx, hashToken(secret))
	switch {
	case pg.NoRows(err):
		return Token{}, errNoToken
	case err != nil:
		return Token{}, fmt.Errorf("look the token up: %w", err)
	case t.State == TokenRevoked:
		return Token{}, op.Errorf(op.Unauthorized, "This token has been revoked. Issue a new one in the panel under Settings.")
	case t.State == TokenExpired:
		return Token{}, op.Errorf(op.Unauthorized, "This token has expired. Issue a new one in the panel under Settings.")
	}
	return t, d.store().touchToken(ctx, t.ID)
}

var errNoToken = op.Errorf(op.Unauthorized, "This is no token of this site. Issue one in the panel under Settings.")

// Bearer is Authenticate for the faces: the context names the token as caller
// and as cause of what is written.
func (d *Domain) Bearer(ctx context.Context, secret string) (context.Context, op.Caller, error) {
	t, err := d.Authenticate(ctx, secret)
	if err != nil {
		return nil, op.Caller{}, err
	}
	caller := op.Caller{Token: t.ID, Classes: t.Classes}
	cause := pg.CauseFrom(ctx)
	cause.Actor = "token:" + t.ID
	return op.WithCaller(pg.WithCause(ctx, cause), caller), caller, nil
}
