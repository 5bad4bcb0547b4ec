import type { MailWords } from './en.ts';

export const es: MailWords = {
  hello: (name) => (name === null ? 'Buenos días:' : `Buenos días, ${name}:`),
  votingPage: 'Ir a la página de votación',
  opens: (date) => `La votación empieza el ${date}.`,
  closes: (date) => `La votación termina el ${date}.`,
  contact: (address) => `¿Tiene preguntas? Diríjase a los organizadores: ${address}`,
  rehearsal: 'Esto es un ensayo: lo que se vote ahora no cuenta y se borrará.',
  options: { yes: 'Sí', no: 'No', abstain: 'Abstención' },
  key: {
    subject: (title) => `Su clave de voto para «${title}»`,
    intro: (title) => `esta es su clave de voto para la votación que sus organizadores llaman «${title}»:`,
    use: 'Escríbala en la página de votación, con o sin guiones. Es solo suya: quien la tenga puede votar en su nombre.',
    notAsked: '¿No ha pedido ninguna clave? Entonces no tiene que hacer nada.',
  },
  letter: {
    intro: (title) => `esta es su clave de voto para la votación «${title}»:`,
    use: {
      voterId:
        'Escriba ambas cosas en la página de votación: la clave de voto, con o sin guiones, y su número de votante. La clave es solo suya: quien la tenga puede votar en su nombre.',
      email:
        'Escriba ambas cosas en la página de votación: la clave de voto, con o sin guiones, y su correo electrónico. La clave es solo suya: quien la tenga puede votar en su nombre.',
    },
    key: 'Su clave de voto',
    voterId: (id) => `Número de votante: ${id}`,
    email: (address) => `Correo electrónico: ${address}`,
    scan: 'Escanear para votar',
    page: (address) => `La página de votación: ${address}`,
    opened: '¿Le llegó esta carta abierta? Entonces diríjase a los organizadores antes de votar.',
  },
  reminder: {
    subject: (title) => `Recordatorio: «${title}»`,
    intro: (title) => `este es un recordatorio de la votación que sus organizadores llaman «${title}».`,
    key: 'Esta es una clave de voto para usted; las de correos anteriores también son válidas:',
    voted: '¿Ya ha votado? Entonces no tiene que hacer nada.',
  },
  waiting: {
    intro: (title) => `se ha pedido una clave de voto para la votación que sus organizadores llaman «${title}».`,
    pending:
      'Su inscripción todavía espera la aprobación de los organizadores. Pida la clave de nuevo cuando la hayan aprobado.',
    rejected:
      'Los organizadores no han aprobado su inscripción, así que no hay clave para usted. Póngase en contacto con ellos.',
  },
  registration: {
    subject: (title) => `Su inscripción en «${title}»`,
    intro: (title) => `alguien ha inscrito esta dirección en la votación que sus organizadores llaman «${title}».`,
    untilUsed: 'Confirme su dirección en un plazo de siete días; de lo contrario, la inscripción caduca.',
    untilDecided: 'Confirme su dirección. Los organizadores deciden sobre su inscripción.',
    confirm: 'Confirmar la dirección',
    notYou:
      'Esto solo confirma su dirección; no se emite ningún voto. ¿No ha sido usted? Entonces no tiene que hacer nada.',
  },
  addressChanged: {
    subject: (title) => `Se ha cambiado su dirección para «${title}»`,
    intro: (title) =>
      `los organizadores han cambiado la dirección de correo con la que usted figura en una votación que llaman «${title}». Las claves de voto ya no llegan a esta dirección y las anteriores ya no son válidas.`,
    back: (title) =>
      `los organizadores cambiaron la dirección de correo con la que usted figura en una votación que llaman «${title}» y ya la han restablecido. Las claves de voto enviadas entretanto llegaron a la otra dirección.`,
    warning:
      'Si no lo ha pedido usted, póngase ahora en contacto con los organizadores: quien lea la otra dirección puede votar en su lugar.',
  },
  closing: {
    subject: (title) => `«${title}» está a punto de cerrarse`,
    intro: (title, code, date) => `la votación «${title}» (${code}) se cierra el ${date}.`,
    confirmable: 'Los votos emitidos hasta entonces pueden confirmarse durante 15 minutos más.',
    later: (call) => `Un cierre posterior se fija con ${call} y «endsAt», mientras la votación admita votos.`,
  },
  notOpened: {
    subject: (title) => `«${title}» no se ha abierto`,
    intro: (title, code, date) =>
      `la votación «${title}» (${code}) debía abrirse el ${date} y no estaba lista. Vuelve a ser un borrador.`,
    missing: 'Todavía falta:',
    opens: (call) => `Se abre con ${call} y «status»: «open», o con un nuevo «startsAt», y no por sí sola.`,
  },
  invite: {
    subject: (title) => `Le invitan a «${title}»`,
    viewer: (title) =>
      `los organizadores de una votación que llaman «${title}» la comparten con usted: puede ver todo lo que contiene.`,
    editor: (title) =>
      `los organizadores de una votación que llaman «${title}» la comparten con usted: puede ver y cambiar todo lo que contiene.`,
    token: 'Este es el código de su invitación:',
    accept: 'Acéptela con cualquier clave de organizador de su cuenta:',
    validity:
      'Es válida durante siete días, para la primera cuenta que la acepte. ¿No conoce a los organizadores? Entonces no tiene que hacer nada.',
  },
};
