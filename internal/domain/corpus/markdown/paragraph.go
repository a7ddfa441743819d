package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// maxLines bounds the lines of one paragraph; what follows becomes the next one. The parser's reader walks the lines of a
// block from the first at each link and link definition, so that a block without end takes the square of its length.
const maxLines = 500

// boundedParagraphs reads link definitions as CommonMark does, of paragraphs of bounded length.
type boundedParagraphs struct{ parser.ParagraphTransformer }

func (b boundedParagraphs) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	if lines.Len() > maxLines && !beginsTable(lines, reader.Source()) {
		b.split(node, reader, pc)
	}
	b.ParagraphTransformer.Transform(node, reader, pc)
}

// split puts all but the last lines into paragraphs before node. The parser goes on with node itself, the last.
func (b boundedParagraphs) split(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	from := 0
	for ; lines.Len()-from > maxLines; from += maxLines {
		part := ast.NewParagraph()
		own := text.NewSegments()
		for _, line := range lines.Sliced(from, from+maxLines) {
			own.Append(line.TrimLeftSpace(reader.Source()))
		}
		last := own.At(maxLines - 1)
		own.Set(maxLines-1, last.TrimRightSpace(reader.Source()))
		part.SetLines(own)
		node.Parent().InsertBefore(node.Parent(), node, part)
		b.ParagraphTransformer.Transform(part, reader, pc)
	}
	rest := text.NewSegments()
	rest.AppendAll(lines.Sliced(from, lines.Len()))
	node.SetLines(rest)
}

// beginsTable tells whether a row of dashes stands among the first lines. The rows of a table are blocks of their own.
func beginsTable(lines *text.Segments, source []byte) bool {
	for i := 1; i < maxLines; i++ {
		line := lines.At(i)
		row := bytes.TrimSpace(line.Value(source))
		if bytes.ContainsRune(row, '-') && len(bytes.Trim(row, "|:- \t")) == 0 {
			return true
		}
	}
	return false
}
