package vault

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"
)

// format is a kind of file that is taken: its type as served, and how its content is known.
type format struct {
	mime  string
	fits  func(head []byte) bool
	named string // what a file with this extension should be
}

func magic(at int, signs ...string) func([]byte) bool {
	return func(head []byte) bool {
		for _, s := range signs {
			if len(head) >= at && bytes.HasPrefix(head[at:], []byte(s)) {
				return true
			}
		}
		return false
	}
}

func isText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }

func isSVG(data []byte) bool { return isText(data) && bytes.Contains(data, []byte("<svg")) }

func isMP3(data []byte) bool {
	return magic(0, "ID3")(data) || (len(data) > 1 && data[0] == 0xff && data[1]&0xe0 == 0xe0)
}

// formatOf lists what Obsidian opens, and the documents people keep beside their notes. What is not listed is refused: an unknown binary
// has no business on a web site, and neither have programs and pages.
func formatOf(ext string) (format, bool) {
	riff, box, zip, matroska := magic(0, "RIFF"), magic(4, "ftyp"), magic(0, "PK\x03\x04", "PK\x05\x06"), magic(0, "\x1a\x45\xdf\xa3")
	f, ok := map[string]format{
		".png":    {"image/png", magic(0, "\x89PNG\r\n\x1a\n"), "a PNG image"},
		".jpg":    {"image/jpeg", magic(0, "\xff\xd8\xff"), "a JPEG image"},
		".jpeg":   {"image/jpeg", magic(0, "\xff\xd8\xff"), "a JPEG image"},
		".gif":    {"image/gif", magic(0, "GIF87a", "GIF89a"), "a GIF image"},
		".webp":   {"image/webp", magic(8, "WEBP"), "a WebP image"},
		".bmp":    {"image/bmp", magic(0, "BM"), "a BMP image"},
		".ico":    {"image/x-icon", magic(0, "\x00\x00\x01\x00"), "an icon"},
		".tif":    {"image/tiff", magic(0, "II*\x00", "MM\x00*"), "a TIFF image"},
		".tiff":   {"image/tiff", magic(0, "II*\x00", "MM\x00*"), "a TIFF image"},
		".avif":   {"image/avif", box, "an AVIF image"},
		".heic":   {"image/heic", box, "an HEIC image"},
		".svg":    {"image/svg+xml", isSVG, "an SVG image"},
		".pdf":    {"application/pdf", magic(0, "%PDF-"), "a PDF"},
		".mp3":    {"audio/mpeg", isMP3, "an MP3"},
		".m4a":    {"audio/mp4", box, "an M4A"},
		".wav":    {"audio/wav", riff, "a WAV"},
		".ogg":    {"audio/ogg", magic(0, "OggS"), "an Ogg file"},
		".oga":    {"audio/ogg", magic(0, "OggS"), "an Ogg file"},
		".opus":   {"audio/ogg", magic(0, "OggS"), "an Ogg file"},
		".flac":   {"audio/flac", magic(0, "fLaC"), "a FLAC"},
		".3gp":    {"video/3gpp", box, "a 3GP"},
		".mp4":    {"video/mp4", box, "an MP4"},
		".m4v":    {"video/mp4", box, "an MP4"},
		".mov":    {"video/quicktime", magic(4, "ftyp", "moov", "mdat", "wide", "free"), "a QuickTime film"},
		".webm":   {"video/webm", matroska, "a WebM"},
		".mkv":    {"video/x-matroska", matroska, "a Matroska film"},
		".ogv":    {"video/ogg", magic(0, "OggS"), "an Ogg file"},
		".canvas": {"application/json", isText, "a canvas"},
		".base":   {"text/plain; charset=utf-8", isText, "a base"},
		".txt":    {"text/plain; charset=utf-8", isText, "UTF-8 text"},
		".csv":    {"text/csv; charset=utf-8", isText, "UTF-8 text"},
		".json":   {"application/json", isText, "JSON"},
		".yaml":   {"text/plain; charset=utf-8", isText, "UTF-8 text"},
		".yml":    {"text/plain; charset=utf-8", isText, "UTF-8 text"},
		".bib":    {"text/plain; charset=utf-8", isText, "UTF-8 text"},
		".tex":    {"text/plain; charset=utf-8", isText, "UTF-8 text"},
		".zip":    {"application/zip", zip, "a zip"},
		".epub":   {"application/epub+zip", zip, "an EPUB"},
		".docx":   {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", zip, "a Word document"},
		".xlsx":   {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", zip, "an Excel sheet"},
		".pptx":   {"application/vnd.openxmlformats-officedocument.presentationml.presentation", zip, "a PowerPoint file"},
		".odt":    {"application/vnd.oasis.opendocument.text", zip, "an OpenDocument text"},
		".ods":    {"application/vnd.oasis.opendocument.spreadsheet", zip, "an OpenDocument sheet"},
		".odp":    {"application/vnd.oasis.opendocument.presentation", zip, "an OpenDocument file"},
	}[ext]
	return f, ok
}

// sniff gives the type of an attachment, from its extension and confirmed by its content.
func sniff(name string, data []byte) (string, error) {
	if len(data) == 0 {
		return "", errors.New("the file is empty")
	}
	ext := strings.ToLower(path.Ext(name))
	f, ok := formatOf(ext)
	if !ok {
		return "", fmt.Errorf("files of this kind are not taken (%s)", orNone(ext))
	}
	if !f.fits(data) {
		return "", fmt.Errorf("its name says %s, but its content is %s", f.named, strings.TrimSuffix(http.DetectContentType(data), "; charset=utf-8"))
	}
	return f.mime, nil
}

func orNone(ext string) string {
	if ext == "" {
		return "no extension"
	}
	return ext
}
