package owner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const (
	// LinkLife is how long a set-up link works.
	LinkLife = 24 * time.Hour
	// window and the two limits bound how often a password can be guessed: per
	// address, and over all addresses (a guesser may own many).
	window       = 15 * time.Minute
	perAddress   = 10
	overAll      = 100
	hashersAtOne = 2 // each takes 19 MiB
)

// Domain is the owner's use cases.
type Domain struct {
	db      *pg.DB
	rec     events.Recorder
	hashers chan struct{}
	// decoy is verified when there is no such owner, so that the time taken
	// does not tell whether an address is known.
	decoy string
}

// New builds the domain.
func New(db *pg.DB, rec events.Recorder) *Domain {
	return &Domain{db: db, rec: rec, hashers: make(chan struct{}, hashersAtOne), decoy: hashPassword("no such owner")}
}

func (d *Domain) store() store { return store{q: d.db} }

// Owner reads the owner.
func (d *Domain) Owner(ctx context.Context) (Owner, error) {
	o, _, err := d.store().owner(ctx)
	return o, err
}

// SetupLink makes a new one-time token and voids earlier ones. Once the owner
// is set up it takes reset, which the terminal alone can give.
func (d *Domain) SetupLink(ctx context.Context, reset bool) (token string, err error) {
	token, _ = newToken()
	return token, d.FixSetupToken(ctx, token, reset)
}

// ErrAlreadySetUp: there is an owner with a password, and no reset was asked.
var ErrAlreadySetUp = errors.New("the owner is already set up")

// FixSetupToken makes token the one valid link (GATEHOUSE_SETUP_TOKEN).
func (d *Domain) FixSetupToken(ctx context.Context, token string, reset bool) error {
	return pg.InTx(ctx, d.db, func(tx pg.Tx) error {
		s := d.store().with(tx)
		o, _, err := s.owner(ctx)
		if err != nil {
			return err
		}
		if o.SetUp && !reset {
			return ErrAlreadySetUp
		}
		return s.replaceSetupToken(ctx, hashToken(token), reset, LinkLife)
	})
}

// CheckLink says whether token still opens the set-up page. It changes
// nothing: mail scanners and previews follow links.
func (d *Domain) CheckLink(ctx context.Context, token string) error {
	_, ok, err := d.store().setupToken(ctx, hashToken(token))
	if err != nil {
		return err
	}
	if !ok {
		return errLink
	}
	return nil
}

var errLink = op.Errorf(op.NotFound, "This link has been used or is older than a day. On the server, gatehouse setup-link --reset prints a new one.")

// SetUp uses the link up, sets address and password, ends every other session
// and signs this browser in.
func (d *Domain) SetUp(ctx context.Context, token, email, password string, v Visit) (session string, err error) {
	email, err = checkEmail(email)
	if err := errors.Join(err, checkPassword(password)); err != nil {
		return "", err
	}
	if err := d.CheckLink(ctx, token); err != nil {
		return "", err
	}
	hash, err := d.hash(ctx, password)
	if err != nil {
		return "", err
	}
	err = pg.InTx(ctx, d.db, func(tx pg.Tx) error {
		s := d.store().with(tx)
		taken, err := s.takeSetupToken(ctx, hashToken(token))
		if err != nil {
			return err
		}
		if !taken {
			return errLink
		}
		o, _, err := s.owner(ctx)
		if err != nil {
			return err
		}
		if err := s.setCredentials(ctx, o.ID, email, hash); err != nil {
			return err
		}
		if err := s.endSessions(ctx, ""); err != nil {
			return err
		}
		session, err = d.signedIn(ctx, tx, o.ID, "setup_link", v)
		return err
	})
	return session, err
}

// SignIn checks address and password. Wrong ones, an unknown address and a
// missing password look the same and take the same time.
func (d *Domain) SignIn(ctx context.Context, email, password string, v Visit) (session string, err error) {
	var o Owner
	var stored string
	// Counted and noted while no more than hashersAtOne others try: of many tries at once none may find the door open
	// because the others were not noted yet.
	err = d.slot(ctx, func() error {
		wait, err := d.store().shutFor(ctx, v.Address)
		if err != nil {
			return err
		}
		if wait > 0 {
			return op.After(op.Errorf(op.TooMany, "Too many wrong tries. Try again in %s.", minutes(wait)), wait)
		}
		if o, stored, err = d.store().owner(ctx); err != nil {
			return err
		}
		known := stored != "" && o.Email == email
		against := stored
		if !known {
			against = d.decoy
		}
		if right := verifyPassword(against, password); right && known {
			return nil
		}
		if err := d.store().noteFailure(ctx, v.Address); err != nil {
			return err
		}
		return errWrong
	})
	if err != nil {
		return "", err
	}
	err = pg.InTx(ctx, d.db, func(tx pg.Tx) error {
		same, err := d.store().with(tx).holdPassword(ctx, o.ID, stored)
		if err != nil {
			return err
		}
		if !same { // changed since it was read: what was right is right no more
			return errWrong
		}
		session, err = d.signedIn(ctx, tx, o.ID, "password", v)
		return err
	})
	return session, err
}

var errWrong = op.Invalidf("", "That address and password do not go together.")

// minutes is a wait in words, rounded up.
func minutes(wait time.Duration) string {
	if n := int((wait + time.Minute - 1) / time.Minute); n > 1 {
		return fmt.Sprintf("%d minutes", n)
	}
	return "a minute"
}

func (d *Domain) signedIn(ctx context.Context, tx pg.Tx, ownerID, method string, v Visit) (string, error) {
	session, err := openSession(ctx, tx, ownerID, v)
	if err != nil {
		return "", err
	}
	return session, recordLogin(ctx, d.rec.With(tx), ownerID, method)
}

// Settings are what the owner can change about themself and the site's name.
type Settings struct {
	Name, Zone, Title, Tagline string
	SingleKeys                 bool
}

// SaveSettings checks and stores the settings.
func (d *Domain) SaveSettings(ctx context.Context, in Settings) error {
	var errs [4]error
	in.Name, errs[0] = checkLine("name", in.Name, maxName)
	in.Title, errs[1] = checkLine("title", in.Title, maxName)
	in.Tagline, errs[2] = checkLine("tagline", in.Tagline, maxTagline)
	if _, err := time.LoadLocation(in.Zone); err != nil || in.Zone == "" || in.Zone == "Local" {
		errs[3] = op.Invalidf("zone", "Write a time zone such as Europe/Berlin or UTC.")
	}
	if in.Title == "" && errs[1] == nil {
		errs[1] = op.Invalidf("title", "Give the site a name.")
	}
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	o, err := d.Owner(ctx)
	if err != nil {
		return err
	}
	o.Name, o.Zone, o.Title, o.Tagline, o.SingleKeys = in.Name, in.Zone, in.Title, in.Tagline, in.SingleKeys
	return d.store().saveSettings(ctx, o)
}

// ChangePassword asks for the old one and signs every other browser out.
func (d *Domain) ChangePassword(ctx context.Context, session, old, password string) error {
	o, stored, err := d.store().owner(ctx)
	if err != nil {
		return err
	}
	ok, err := d.verify(ctx, stored, old)
	if err != nil {
		return err
	}
	if !ok {
		return op.Invalidf("old", "That is not the present password.")
	}
	if err := checkPassword(password); err != nil {
		return err
	}
	hash, err := d.hash(ctx, password)
	if err != nil {
		return err
	}
	return pg.InTx(ctx, d.db, func(tx pg.Tx) error {
		s := d.store().with(tx)
		same, err := s.changePassword(ctx, o.ID, stored, hash)
		if err != nil {
			return err
		}
		if !same {
			return op.Errorf(op.Conflict, "The password was changed elsewhere meanwhile. Nothing was done.")
		}
		return s.endSessions(ctx, session)
	})
}

func (d *Domain) hash(ctx context.Context, password string) (hash string, err error) {
	err = d.slot(ctx, func() error {
		hash = hashPassword(password)
		return nil
	})
	return hash, err
}

func (d *Domain) verify(ctx context.Context, stored, password string) (ok bool, err error) {
	err = d.slot(ctx, func() error {
		ok = verifyPassword(stored, password)
		return nil
	})
	return ok, err
}

// slot bounds the memory that many sign-ins at once can take.
func (d *Domain) slot(ctx context.Context, f func() error) error {
	select {
	case d.hashers <- struct{}{}:
		defer func() { <-d.hashers }()
		return f()
	case <-ctx.Done():
		return op.Wrap(ctx.Err(), op.Unavailable, "The server is busy. Try again in a moment.")
	}
}
