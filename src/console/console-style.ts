/** What the console adds to the style of the reference. */
export const CONSOLE_STYLE = `
[hidden]{display:none!important}
header strong{flex:none}
#state{flex:1;font-size:.9rem;color:var(--soft)}
.frame{max-width:82rem}
nav{border-top:0;padding:.6rem .75rem 0}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem}
.count{font-size:.8rem;color:var(--soft);font-variant-numeric:tabular-nums}
main{padding-top:1rem}
main:focus,h2:focus{outline:0}
h1{font-size:1.15rem;color:var(--soft);font-weight:500;margin:0}
h2{margin-top:.8rem}h4{margin:1rem 0 .3rem}h4 small{font-weight:400}
.lead{font-size:.95rem}
#said{margin:.5rem 0;color:var(--delete);font-weight:600}#said:empty{display:none}
small,time{font-size:.84rem;color:var(--soft);overflow-wrap:anywhere}
.rows{list-style:none;margin:1rem 0;padding:0}
.rows>li{padding:.7rem 0;border-top:1px solid var(--line);overflow-wrap:anywhere}
.rows>li:focus{outline:0}
.none{color:var(--soft)}
.line{display:flex;flex-wrap:wrap;gap:.15rem .7rem;align-items:center;margin:.15rem 0}
.line time{margin-left:auto}.line a{padding:.3rem 0}
.key{font-size:1.25rem;letter-spacing:.03em}
.badge{font-size:.8rem;padding:.05rem .5rem;border:1px solid currentColor;border-radius:1rem;color:var(--soft)}
.badge.open,.badge.rehearsal,.badge.pending,.badge.processing,.badge.too_old{color:var(--change)}
.badge.paid,.badge.delivered,.badge.verified{color:var(--post)}
.badge.failed,.badge.wrong_signature,.badge.not_signed{color:var(--delete)}
.s2,.s3{color:var(--post)}.s4{color:var(--change)}.s5{color:var(--delete)}
button,.tools input{font:inherit}
button{min-height:2.25rem;padding:.2rem .9rem;color:var(--ink);background:var(--shade);border:1px solid var(--soft);border-radius:6px;cursor:pointer}
button:hover{border-color:var(--accent)}
button:focus-visible,input:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.tools{display:flex;flex-wrap:wrap;gap:.6rem 1rem;align-items:center}
.tools label{display:inline-flex;gap:.4rem;align-items:center;min-height:2.25rem}
.tools input[type=search]{min-width:0;width:22rem;max-width:100%;padding:.3rem .6rem;color:inherit;background:var(--definition);border:1px solid var(--soft);border-radius:6px}
.tools input::placeholder{color:var(--soft);opacity:1}
pre{white-space:pre-wrap;overflow-wrap:anywhere;max-height:26rem}
summary{padding:.3rem 0}
iframe{display:block;width:100%;height:26rem;background:#fff;border:1px solid var(--line);border-radius:8px}
.attempts{margin:.2rem 0;padding-left:1.6rem;font-size:.92rem}
.candidates{list-style:none;padding:0}
.candidate{display:grid;grid-template-columns:minmax(0,1fr) minmax(4rem,2fr) 7rem;gap:.8rem;align-items:center;padding:.15rem 0}
progress{width:100%;height:.6rem;appearance:none;border:0;border-radius:1rem;overflow:hidden;background:var(--line)}
progress::-webkit-progress-bar{background:var(--line)}
progress::-webkit-progress-value{background:var(--accent)}progress::-moz-progress-bar{background:var(--accent)}
@media(min-width:64rem){nav{padding:1.25rem}nav ul{display:block}main{padding-top:1.25rem}}
@media(max-width:40rem){.tools label{flex-wrap:wrap}.line time{margin-left:0}}
`;
