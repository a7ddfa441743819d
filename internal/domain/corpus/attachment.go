package corpus

import (
	"context"
	"fmt"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// Attachment is a file beside the notes.
type Attachment struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	SourcePath string `json:"source_path"`
	MediaType  string `json:"media_type"`
	Size       int64  `json:"size"`
	Hash       string `json:"hash"` // SHA-256 in hex, for ETags
	Data       []byte `json:"-"`
}

var errNoFile = op.Errorf(op.NotFound, "There is no such file.")

// Attachment reads a file. Its rights follow the notes that use it: a visitor
// gets it only while a published note links or shows it, else it is not found.
func (d *Domain) Attachment(ctx context.Context, id string, owner bool) (Attachment, error) {
	if !pg.ValidUUID(id) {
		return Attachment{}, errNoFile
	}
	var a Attachment
	var key string
	err := d.db.QueryRow(ctx, `select id::text, name, source_path, media_type, size, hash, key from public.attachments where id = $1`, id).
		Scan(&a.ID, &a.Name, &a.SourcePath, &a.MediaType, &a.Size, &a.Hash, &key)
	if pg.NoRows(err) {
		return Attachment{}, errNoFile
	}
	if err != nil {
		return Attachment{}, fmt.Errorf("read attachment: %w", err)
	}
	if !owner {
		used, err := d.store().usedInPublic(ctx, id, key)
		if err != nil {
			return Attachment{}, err
		}
		if !used {
			return Attachment{}, errNoFile
		}
	}
	if err := d.db.QueryRow(ctx, `select body from public.attachments where id = $1`, id).Scan(&a.Data); err != nil {
		return Attachment{}, fmt.Errorf("read attachment: %w", err)
	}
	return a, nil
}

// usedInPublic resolves the links of published notes that could mean the file,
// as rendering does: two files of one name are told apart by where the note is.
func (s store) usedInPublic(ctx context.Context, id, key string) (bool, error) {
	rows, err := s.q.Query(ctx, `
		select l.target, n.path, coalesce(n.source_path, '') from public.note_links l join public.notes n on n.id = l.note_id
		where l.name = $1 and l.file and n.published and n.deleted_at is null`, key)
	if err != nil {
		return false, fmt.Errorf("look for uses of the attachment: %w", err)
	}
	defer rows.Close()
	type use struct {
		link string
		at   place
	}
	var uses []use
	for rows.Next() {
		var u use
		var n Note
		if err := rows.Scan(&u.link, &n.Path, &n.SourcePath); err != nil {
			return false, fmt.Errorf("look for uses of the attachment: %w", err)
		}
		u.at = placeOf(n)
		uses = append(uses, u)
	}
	if err := rows.Err(); err != nil {
		return false, fmt.Errorf("look for uses of the attachment: %w", err)
	}
	among, err := s.filesNamed(ctx, []string{key})
	if err != nil {
		return false, err
	}
	for _, u := range uses {
		if t, ok := choose(u.link, u.at, true, among[key]); ok && t.id == id {
			return true, nil
		}
	}
	return false, nil
}

// putAttachment stores a file of a vault; false means that it was there already.
func (s store) putAttachment(ctx context.Context, a Attachment) (bool, error) {
	tag, err := s.q.Exec(ctx, `
		insert into public.attachments (owner_id, name, source_path, media_type, size, hash, body)
		values (`+theOwner+`, $1, $2, $3, $4, $5, $6)
		on conflict (owner_id, md5(source_path)) do update
			set name = excluded.name, media_type = excluded.media_type, size = excluded.size, hash = excluded.hash, body = excluded.body
			where attachments.hash <> excluded.hash or attachments.media_type <> excluded.media_type`,
		a.Name, a.SourcePath, strings.ToLower(a.MediaType), a.Size, a.Hash, a.Data)
	if err != nil {
		return false, fmt.Errorf("store attachment: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}
